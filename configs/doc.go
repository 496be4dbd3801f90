// Package configs turns text into values: Kubernetes YAML and JSON into documents, and the hub's and
// the agent's configuration files into typed options.
//
// The command line reads what users write with Read and Parse; the mains read their options with
// LoadHub and LoadAgent. Everything wrong with a text is reported at once, with file, document and
// line, or, for options, with the path of the field. Numbers keep the digits that were written.
// Nothing here talks to a network or remembers anything.
package configs
