// Package subjects is the address book: every subject, stream, bucket and key that Flotilla uses is
// built, parsed and permitted here, and nowhere else is one spelled.
//
// Package bus, the rooms and the command line client call it. All functions are pure. Names of
// fleets and members are DNS labels and stand for themselves; any other name is one token made by
// Encode, reversibly. SUBJECTS.md is generated from the same table that the code uses.
package subjects

//go:generate go test -run TestDocumentIsCurrent -update .
