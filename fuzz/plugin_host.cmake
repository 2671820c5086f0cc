cd_fuzz(plugin_db DEPS plugin_host vm_shared)
cd_fuzz(plugin_tunnel DEPS plugin_host)
