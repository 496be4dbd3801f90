//go:build race

package schedule_test

// detectorAllocates is what the race detector adds to the allocations of one decision.
const detectorAllocates = 20
