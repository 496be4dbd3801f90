// Package conformance runs the recorded decisions of other systems through the core and compares.
//
// Each recording is a file of gzipped JSON lines, one case a line, in testdata or in the directory
// that CONFORMANCE_DIR names; a missing file fails, and so does a case with a field that its reader does not
// know. Every recording has one test that says for each case whether the core agrees, disagrees for a
// reason that a decision of the specification gives (judged from the case's input before the core runs), or
// disagrees. Only the last fails, naming the case and the difference, as does a panic over a case, which leaves
// the others to be judged; and more cases that decisions explain than the specifications grant in testdata, or
// in other data than a share of 8 % and three.
package conformance
