module candela/bench/peers/geth

go 1.24.0

require github.com/ethereum/go-ethereum v1.17.10
