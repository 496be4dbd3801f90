// Package offline reads the files that commands are given, says what is wrong in them and where, and makes of them what
// decisions read, so that plans are answered without a hub.
package offline
