// Package verdict holds what became of every member in one decision of the scheduler, in columns, so that
// ten thousand verdicts fit into one small record; sentences about them are rendered on demand. The
// scheduler writes them, the command line, plans and answers read them.
package verdict
