cd_fuzz(grpc DEPS grpc)
