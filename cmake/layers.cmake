# The layer table, kept once: LIBRARY RANK : what it may use (spec/style.md C). cd_library() checks link
# edges against it, tools/check_layers.py checks includes.
set(CD_LAYERS
  "base                     0 :"
  "num                      1 : base"
  "crypto                   2 : base num"
  "codec                    3 : base num crypto"
  "store                    4 : base num crypto codec"
  "net                      4 : base crypto codec"
  "grpc                     5 : base codec net"
  "types                    5 : base num crypto codec"
  "services/common          5 : base num crypto codec store net"
  "web                      5 : base num crypto codec net"
  "finality/cert            5 : base crypto codec"
  "plugin/wire              5 : base codec"
  "evm                      6 : base num crypto codec types"
  "services/pricing         6 : base num crypto codec store net services/common web"
  "services/webhook         6 : base num crypto codec store net types services/common web"
  "services/adx             6 : base num crypto codec store net types services/common web"
  "finality/wasm            6 : base crypto finality/cert"
  "p2p                      6 : base num crypto codec net types"
  "rpc                      6 : base num crypto codec net"
  "relay                    6 : base num crypto codec net types"
  "wallet                   6 : base num crypto codec store types"
  "vm                       7 : base num codec store net types rpc"
  "precompile               7 : base num crypto codec types evm"
  "vm/shared                8 : base num crypto codec store types vm"
  "vm/gossip                8 : base codec store net types p2p rpc vm"
  "finality                 8 : base crypto codec store types finality/cert vm"
  "consensus                8 : base num crypto codec store types vm"
  "chains/utxo              8 : base num crypto codec store types vm"
  "chains/platform/fees     8 : base num codec types"
  "chains/evmchain/core     8 : base num crypto codec store types evm vm precompile"
  "warp                     9 : base num crypto codec store types p2p rpc vm vm/gossip"
  "sim                      9 : base num crypto codec store net types web p2p vm consensus"
  "chains/wallet            9 : base num crypto codec types rpc vm chains/utxo chains/platform/fees"
  "chains/platform/state    9 : base num crypto codec store types vm chains/utxo"
  "chains/evmchain/tracers  9 : base num crypto codec store types evm precompile chains/evmchain/core"
  "chains/evmchain/feed     9 : base num crypto codec store types evm rpc chains/evmchain/core"
  "chains/evmchain/sync     9 : base num crypto codec store types p2p vm chains/evmchain/core"
  "plugin/host             10 : base crypto codec store net grpc types plugin/wire rpc vm vm/shared"
  "chains/platform/l1      10 : base num codec store types chains/platform/fees chains/platform/state"
  "chains/platform/genesis 10 : base num crypto codec store types chains/utxo chains/platform/state"
  "chains/platform/txs     10 : base num crypto codec store types vm chains/utxo chains/platform/fees
                                chains/platform/state"
  "chains/xvm              10 : base num crypto codec store net types rpc wallet vm vm/shared vm/gossip chains/utxo
                                chains/wallet"
  "chains/evmchain/rpc     10 : base num crypto codec store types evm rpc wallet vm precompile chains/evmchain/core
                                warp chains/evmchain/tracers chains/evmchain/feed"
  "chains/evmchain/atomic  10 : base num crypto codec store types evm rpc vm chains/utxo chains/evmchain/core
                                chains/wallet"
  "chains/platform/blocks  11 : base num crypto codec store types vm chains/utxo chains/platform/fees
                                chains/platform/state chains/platform/genesis chains/platform/txs"
  "chains/platform/service 11 : base num crypto codec store net types rpc wallet vm chains/utxo chains/platform/fees
                                chains/wallet chains/platform/state chains/platform/l1 chains/platform/genesis"
  "chains/evmchain/dev     11 : base num crypto codec store types evm rpc wallet vm chains/evmchain/core
                                chains/evmchain/tracers chains/evmchain/feed chains/evmchain/rpc"
  "chains/platform         12 : base num crypto codec store types rpc wallet vm vm/gossip chains/utxo
                                chains/platform/fees warp chains/platform/state chains/platform/l1
                                chains/platform/genesis chains/platform/txs chains/platform/blocks
                                chains/platform/service"
  "chains/evmchain         12 : base crypto codec store types finality/cert p2p rpc wallet vm precompile vm/gossip
                                finality chains/evmchain/core warp chains/evmchain/feed chains/evmchain/sync
                                chains/evmchain/rpc chains/evmchain/atomic chains/evmchain/dev"
  "node                    13 : base num crypto codec store net types finality/cert p2p rpc wallet vm vm/shared
                                finality consensus sim plugin/host"
  "explorer/primary        13 : base num crypto codec store net types web vm chains/utxo chains/platform/fees
                                chains/platform/state chains/platform/l1 chains/platform/txs chains/xvm
                                chains/platform"
  "lab                     13 : base num crypto codec store types evm vm precompile chains/evmchain/core
                                chains/evmchain/tracers"
  "plugin/guest            14 : base crypto codec store net grpc types plugin/wire rpc vm consensus node"
  "explorer                14 : base num crypto codec store net types web evm chains/utxo chains/evmchain/core
                                chains/evmchain/tracers chains/evmchain/feed chains/evmchain/atomic explorer/primary"
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
