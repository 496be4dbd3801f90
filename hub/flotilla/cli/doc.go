// Package cli is the flotilla command: kubectl's grammar over a fleet. Package main calls Main with
// the process's streams, tests with their own.
//
// One file holds one command. A command resolves what its arguments name, asks the hub through one
// request, prints with kubectl's printers, and ends with the next command to type: on standard
// output for people, on standard error when the output is for machines. Exit codes are those of
// docs/cli.md. Everything a command needs from outside comes in through Environment, so that two
// can run in one process; nothing blocks past its context.
package cli
