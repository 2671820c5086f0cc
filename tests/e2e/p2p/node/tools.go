// The node itself is built out of this module too (gonode.py): what it needs stays in go.mod.

//go:build tools

package main

import _ "github.com/ava-labs/avalanchego/main"
