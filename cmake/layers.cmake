# The layer table, kept once: LIBRARY RANK : what it may use (spec/style.md C). cd_library() checks link
# edges against it, tools/check_layers.py checks includes.
set(CD_LAYERS
  "base        0 :"
  "num         1 : base"
  "crypto      2 : base num"
  "codec       3 : base num crypto"
  "store       4 : base num crypto codec"
  "net         4 : base crypto codec"
  "types       5 : base num crypto codec"
  "services/common 5 : base num crypto codec store net"
  "web         5 : base num crypto codec net"
  "evm         6 : base num crypto codec types"
  "services/pricing 6 : services/common base num crypto codec store net web"
  "services/webhook 6 : services/common base num crypto codec types store net web"
  "p2p         6 : base num crypto codec net types"
  "vm          6 : base num codec store types"
  "wallet      6 : base num crypto codec types"
  "precompile  7 : base num crypto codec types evm"
  "consensus   7 : base num crypto codec store types vm"
  "plugin      7 : base codec net store types vm"
  "rpc         8 : base num crypto codec net store types vm wallet"
  "chains/evmchain 9 : base num crypto codec store types vm rpc wallet evm precompile"
  "node       10 : base num crypto codec store net types p2p vm wallet consensus plugin rpc"
  "explorer   10 : base num crypto codec store net types evm chains/evmchain web"
  "lab        10 : base num crypto codec store types evm precompile chains/evmchain"
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
