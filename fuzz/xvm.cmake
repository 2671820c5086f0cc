cd_fuzz(xvm DEPS chains_xvm vm_shared)
cd_fuzz(xvm_filter DEPS chains_xvm)
