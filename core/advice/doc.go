// Package advice says what is remarkable about documents that are applied, or about objects that are deleted: what is
// missing beside them, whom they disagree with, and what becomes of nodes by them. It takes what would be there once that is
// done, and returns notes; it refuses nothing but runs and profiles that rules of core/upgrade and core/validate refuse.
// Package hub/door gathers, and puts the notes into its answers.
package advice
