// Package cli is the flotilla command: kubectl's grammar over a fleet. Package main calls Main with
// the process's streams, tests with their own.
//
// Commands lie in folders by noun, one file each: object (kubectl's verbs on every kind), placement, plan, nodes, run, member
// and hub. Below them lie session, resource, show and offline; docs/architecture.md has the picture. A command resolves what
// its arguments name, asks the hub through one request, prints with kubectl's printers, and ends with the next command to
// type: on standard output for people, on standard error when the output is for machines. Exit codes are those of docs/cli.md.
// Everything a command needs from outside comes in through session.Environment, so that two can run in one process; nothing
// blocks past its context.
package cli
