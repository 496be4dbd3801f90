// Package session is one run of the command line: what it takes from outside, the hub that it talks to, what it prints for
// people and machines, and how it ends. It knows no kind of objects; every command uses it.
package session
