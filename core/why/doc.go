// Package why explains one member's part in one decision: every filter with what was observed and
// what was wanted, the scores, the rank, and the smallest single change that would flip the verdict.
//
// The door answers the verb why with it, and the command line does so offline from files. A flip is
// never guessed: Explain applies each candidate to a copy of the input, asks schedule.Schedule again,
// and keeps the smallest one that turned picked into not picked or back.
package why
