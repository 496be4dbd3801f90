package api

// Version is the version of this build, set by the linker; "dev" for go run and go test.
var Version = "dev"
