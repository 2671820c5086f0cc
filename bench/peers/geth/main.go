// peer-geth runs Candela's benchmark workloads and state tests with go-ethereum, so that both can be
// compared on the same bytes in the same run. It prints one JSON object per line and nothing else on
// standard output; a result that differs from the stored expectation is an error, not a slow run.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const usage = `usage: peer-geth COMMAND ...
  evm DIR [--only TEXT] [--min-ms N]      interpreter workloads below DIR
  crypto FILE [--only TEXT] [--min-ms N]  primitives on the inputs in FILE (bench/crypto.json)
  trie N... [--roots FILE]                trie steps for N keys; FILE holds the expected roots
  import DIR NAME [--scheme path|hash] [--tmp DIR] [--rounds N]
                                          import blocks_NAME.rlp of DIR into a fresh data base
  node --datadir DIR --fund ADDRESS [--port N] [--chain-id N]
                                          a development network, blocks by evm_mine
  statetest FILE...                       run state tests, one JSON line per case
  statetest -                             the same; file names come line by line on standard input,
                                          an empty line ends each answer
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	commands := map[string]func([]string) error{
		"evm":       runEVM,
		"crypto":    runCrypto,
		"trie":      runTrie,
		"import":    runImport,
		"node":      runNode,
		"statetest": runStateTests,
	}
	command, ok := commands[os.Args[1]]
	if !ok {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := command(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer-geth:", err)
		os.Exit(1)
	}
}

// emit prints one result line.
func emit(result any) {
	line, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
}

// threadCPU is the CPU time of the calling OS thread. The caller has locked its goroutine to it.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// processCPU is the CPU time of all threads of this process, the garbage collector's included.
func processCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// timing is what repetitions of one workload gave.
type timing struct {
	best, first time.Duration
	iters       int
}

// measure repeats run until there were 3 repetitions and at least minTotal of CPU time by the clock, and
// keeps the fastest. prepare goes before each repetition, untimed; both may fail.
func measure(clock func() time.Duration, minTotal time.Duration, prepare, run func() error) (timing, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var t timing
	var total time.Duration
	for t.iters < 3 || total < minTotal {
		if prepare != nil {
			if err := prepare(); err != nil {
				return t, err
			}
		}
		start := clock()
		err := run()
		spent := clock() - start
		if err != nil {
			return t, err
		}
		if t.iters == 0 {
			t.first, t.best = spent, spent
		}
		t.best = min(t.best, spent)
		total += spent
		t.iters++
	}
	return t, nil
}
