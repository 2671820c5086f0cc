# The layer table, kept once: LIBRARY RANK : what it may use (spec/style.md C). cd_library() checks link
# edges against it, tools/check_layers.py checks includes.
set(CD_LAYERS
  "base       0 :"
  "num        1 : base"
  "crypto     2 : base num"
  "codec      3 : base num crypto"
  "store      4 : base num crypto codec"
  "net        4 : base crypto codec"
  "grpc       5 : base codec net"
  "types      5 : base num crypto codec"
  "services/common 5 : base num crypto codec store net"
  "web        5 : base num crypto codec net"
  "evm        6 : base num crypto codec types"
  "services/pricing 6 : services/common base num crypto codec store net web"
  "services/webhook 6 : services/common base num crypto codec types store net web"
  "services/adx 6 : services/common base num crypto codec types store net web"
  "finality/cert 5 : base codec crypto"
  "finality/wasm 6 : base crypto finality/cert"
  "p2p        6 : base num crypto codec net types"
  "rpc        6 : base num crypto codec net"
  "vm         7 : base num codec net store types rpc"
  "vm/shared  8 : base num crypto codec store types vm"
  "vm/gossip  8 : base codec net store types rpc p2p vm"
  "finality   8 : base codec crypto store types vm finality/cert"
  "warp       9 : base num crypto codec store types rpc p2p vm vm/gossip"
  "relay      6 : base num crypto codec net types"
  "wallet     6 : base num crypto codec store types"
  "precompile 7 : base num crypto codec types evm"
  "consensus  8 : base num crypto codec store types vm"
  "plugin/wire 5 : base codec"
  "plugin/host 10 : base crypto codec net grpc store types rpc vm vm/shared plugin/wire"
  "sim        9 : base num crypto codec net store types p2p vm consensus web"
  "chains/utxo 8 : base num crypto codec store types vm"
  "chains/platform/fees 8 : base num codec types"
  "chains/wallet 9 : base num crypto codec types rpc vm chains/utxo chains/platform/fees"
  "chains/platform/state 9 : base num crypto codec store types vm chains/utxo"
  "chains/platform/l1 10 : base num codec store types chains/platform/fees chains/platform/state"
  "chains/platform/genesis 10 : base num crypto codec store types chains/utxo chains/platform/state"
  "chains/platform/txs 10 : base num crypto codec store types vm chains/utxo chains/platform/fees
                            chains/platform/state"
  "chains/platform/blocks 11 : base num crypto codec store types vm chains/utxo chains/platform/fees
                               chains/platform/state chains/platform/genesis chains/platform/txs"
  "chains/platform/service 11 : base num crypto codec net store types rpc vm wallet chains/utxo chains/wallet
                                chains/platform/fees chains/platform/state chains/platform/genesis
                                chains/platform/l1"
  "chains/platform 12 : base num crypto codec store types rpc vm vm/gossip warp wallet chains/utxo
                        chains/platform/fees chains/platform/state chains/platform/genesis chains/platform/txs
                        chains/platform/blocks chains/platform/service chains/platform/l1"
  "chains/xvm 10 : base num crypto codec store net types rpc vm vm/shared vm/gossip wallet chains/utxo chains/wallet"
  "chains/evmchain/core 8 : base num crypto codec store types evm precompile vm"
  "chains/evmchain/tracers 9 : base num crypto codec store types evm precompile chains/evmchain/core"
  "chains/evmchain/feed 9 : base num crypto codec store types evm rpc chains/evmchain/core"
  "chains/evmchain/rpc 10 : base num crypto codec store types evm precompile vm rpc wallet warp chains/evmchain/core
                            chains/evmchain/tracers chains/evmchain/feed"
  "chains/evmchain/atomic 10 : base num crypto codec store types evm rpc vm chains/utxo chains/wallet
                              chains/evmchain/core"
  "chains/evmchain/sync 9 : base num crypto codec store types p2p vm chains/evmchain/core"
  "chains/evmchain/dev 11 : base num crypto codec store types evm vm rpc wallet chains/evmchain/core
                            chains/evmchain/tracers chains/evmchain/feed chains/evmchain/rpc"
  "chains/evmchain 12 : base crypto codec store types p2p vm vm/gossip finality finality/cert warp precompile rpc wallet chains/evmchain/core
                        chains/evmchain/atomic chains/evmchain/feed chains/evmchain/rpc chains/evmchain/dev
                        chains/evmchain/sync"
  "node      13 : base num crypto codec store net types p2p rpc vm vm/shared wallet consensus sim plugin/host
                  finality finality/cert"
  "plugin/guest 14 : base crypto codec consensus grpc net node rpc store types vm plugin/wire"
  "explorer/primary 13 : base num crypto codec store net types web vm chains/utxo chains/platform/fees
                         chains/platform/state chains/platform/txs chains/platform chains/platform/l1 chains/xvm"
  "explorer  14 : base num crypto codec store net types evm web chains/utxo chains/evmchain/core
                  chains/evmchain/tracers chains/evmchain/feed chains/evmchain/atomic explorer/primary"
  "lab       13 : base num crypto codec store types evm precompile vm chains/evmchain/core chains/evmchain/tracers"
)

# cd_layer_allows(FROM TO OUT): whether library FROM may link TO.
function(cd_layer_allows from to out)
  foreach(row IN LISTS CD_LAYERS)
    if(row MATCHES "^([a-z0-9/]+) +[0-9]+ :(.*)$")
      if(CMAKE_MATCH_1 STREQUAL from)
        string(REGEX MATCHALL "[a-z0-9/]+" allowed "${CMAKE_MATCH_2}")
        if(to IN_LIST allowed)
          set(${out} TRUE PARENT_SCOPE)
        else()
          set(${out} FALSE PARENT_SCOPE)
        endif()
        return()
      endif()
    endif()
  endforeach()
  set(${out} FALSE PARENT_SCOPE)
endfunction()
