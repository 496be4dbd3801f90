// Package seal decides how a fleet's content is made unreadable to everybody but its readers (security.md H8):
// under which digest a body is known, where it lies, with which key it is sealed, and how it is opened.
//
// The door digests, the bus seals and opens for the hub, the dispatcher gives members the pieces they are to
// read, agents open those. Equal bodies have equal digests, places and keys, so that they are stored once;
// nobody without the secrets can compute any of them. Nothing here is kept, and randomness comes in as a reader.
package seal
