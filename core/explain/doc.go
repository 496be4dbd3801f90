// Package explain says why a node goes or stays and what would make it go, what would be disrupted from
// now on, and what a drain would meet. It decides again on changed states and never by itself, so that it
// agrees with what the disruptor does; the disruptor's verbs, plans and why call it.
package explain
