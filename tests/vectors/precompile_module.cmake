cd_vector_test(precompile_activation DEPS precompile lab)
cd_vector_test(precompile_module DEPS precompile)
cd_vector_test(warp DEPS precompile)
