// The interop client and server of grpc-go, unary cases, and what a call costs there.
//
// usage: peer client ADDRESS    asks a server
//
//	peer server            prints "port N", serves until its standard input ends
//	peer bench CALLS       both sides in one process
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

func must(err error) {
	if err != nil {
		fmt.Println("FAIL", err)
		os.Exit(1)
	}
}

func dial(addr string) *grpc.ClientConn {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30)))
	must(err)
	return conn
}

func client(addr string) {
	ctx := context.Background()
	conn := dial(addr)
	c := testgrpc.NewTestServiceClient(conn)
	cases := []struct {
		name string
		run  func()
	}{
		{"empty_unary", func() { interop.DoEmptyUnaryCall(ctx, c) }},
		{"large_unary", func() { interop.DoLargeUnaryCall(ctx, c) }},
		{"special_status_message", func() { interop.DoSpecialStatusMessage(ctx, c) }},
		{"unimplemented_service", func() {
			interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(conn))
		}},
		{"unimplemented_method", func() { interop.DoUnimplementedMethod(ctx, conn) }},
		{"status_code_and_message", func() { statusUnary(ctx, c) }},
		{"custom_metadata", func() { metadataUnary(ctx, c) }},
		{"deadline", func() { deadline(ctx, c) }},
		{"cancel", func() { cancelled(ctx, c) }},
		{"sixteen_mib", func() { sixteen(ctx, c) }},
		{"many_at_once", func() { many(ctx, c) }},
	}
	for _, k := range cases {
		k.run() // the cases of the interop package end the process when they fail
		fmt.Println("ok", k.name)
	}
}

// As status_code_and_message and custom_metadata, without their streams.
func statusUnary(ctx context.Context, c testgrpc.TestServiceClient) {
	_, err := c.UnaryCall(ctx, &testgrpc.SimpleRequest{
		ResponseStatus: &testgrpc.EchoStatus{Code: 2, Message: "test status message"},
	})
	if s, _ := status.FromError(err); s.Code() != codes.Unknown || s.Message() != "test status message" {
		must(fmt.Errorf("status %v", err))
	}
}

func metadataUnary(ctx context.Context, c testgrpc.TestServiceClient) {
	var header, trailer metadata.MD
	ctx = metadata.AppendToOutgoingContext(ctx, "x-grpc-test-echo-initial", "test_initial_metadata_value",
		"x-grpc-test-echo-trailing-bin", "\x0a\x0b\x0a\x0b\x0a\x0b")
	_, err := c.UnaryCall(ctx, &testgrpc.SimpleRequest{ResponseSize: 1}, grpc.Header(&header), grpc.Trailer(&trailer))
	must(err)
	if v := header.Get("x-grpc-test-echo-initial"); len(v) != 1 || v[0] != "test_initial_metadata_value" {
		must(fmt.Errorf("header %v", header))
	}
	if v := trailer.Get("x-grpc-test-echo-trailing-bin"); len(v) != 1 || v[0] != "\x0a\x0b\x0a\x0b\x0a\x0b" {
		must(fmt.Errorf("trailer %v", trailer))
	}
}

func deadline(ctx context.Context, c testgrpc.TestServiceClient) {
	short, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	_, err := c.EmptyCall(short, &testgrpc.Empty{})
	if status.Code(err) != codes.DeadlineExceeded {
		must(fmt.Errorf("deadline: %v", err))
	}
}

func cancelled(ctx context.Context, c testgrpc.TestServiceClient) {
	for i := 0; i < 20; i++ {
		stop, cancel := context.WithCancel(ctx)
		go cancel()
		_, err := c.UnaryCall(stop, &testgrpc.SimpleRequest{ResponseSize: 1 << 20})
		if code := status.Code(err); err != nil && code != codes.Canceled {
			must(fmt.Errorf("cancel: %v", err))
		}
	}
	_, err := c.EmptyCall(ctx, &testgrpc.Empty{})
	must(err)
}

func sixteen(ctx context.Context, c testgrpc.TestServiceClient) {
	const size = 16 << 20
	r, err := c.UnaryCall(ctx, &testgrpc.SimpleRequest{
		ResponseSize: size, Payload: &testgrpc.Payload{Body: make([]byte, size)},
	})
	must(err)
	if len(r.Payload.Body) != size {
		must(fmt.Errorf("%d bytes", len(r.Payload.Body)))
	}
}

func many(ctx context.Context, c testgrpc.TestServiceClient) {
	errs := make(chan error)
	for i := 0; i < 200; i++ {
		go func() {
			r, err := c.UnaryCall(ctx, &testgrpc.SimpleRequest{ResponseSize: int32(i * 100)})
			if err == nil && len(r.Payload.GetBody()) != i*100 {
				err = fmt.Errorf("%d bytes", len(r.Payload.GetBody()))
			}
			errs <- err
		}()
	}
	for i := 0; i < 200; i++ {
		must(<-errs)
	}
}

func listen() (*grpc.Server, string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(1<<30), grpc.MaxSendMsgSize(1<<30))
	testgrpc.RegisterTestServiceServer(s, interop.NewTestServer())
	go func() { _ = s.Serve(l) }()
	return s, l.Addr().String()
}

func cpu() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func bench(calls int) {
	ctx := context.Background()
	_, addr := listen()
	c := testgrpc.NewTestServiceClient(dial(addr))
	for _, cnt := range []int{1, 32} {
		used := cpu()
		done := make(chan error)
		for i := 0; i < cnt; i++ {
			go func() {
				var err error
				for k := 0; k < calls/cnt && err == nil; k++ {
					_, err = c.EmptyCall(ctx, &testgrpc.Empty{})
				}
				done <- err
			}()
		}
		for i := 0; i < cnt; i++ {
			must(<-done)
		}
		fmt.Printf("cpu_ns_per_call_%d_at_a_time %d\n", cnt, int(cpu()-used)/calls)
	}
	const size, rounds = 16 << 20, 20
	body := make([]byte, size)
	used, begin := cpu(), time.Now()
	for i := 0; i < rounds; i++ {
		_, err := c.UnaryCall(ctx, &testgrpc.SimpleRequest{Payload: &testgrpc.Payload{Body: body}})
		must(err)
	}
	fmt.Println("large_mb_per_s", int(float64(size)*rounds/time.Since(begin).Seconds()/1e6))
	fmt.Println("large_mb_per_cpu_s", int(float64(size)*rounds/(cpu()-used).Seconds()/1e6))
}

func main() {
	switch os.Args[1] {
	case "client":
		client(os.Args[2])
	case "server":
		_, addr := listen()
		_, port, _ := net.SplitHostPort(addr)
		fmt.Println("port", port)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "bench":
		calls, err := strconv.Atoi(os.Args[2])
		must(err)
		bench(calls)
	}
}
