//go:build !race

package schedule_test

const detectorAllocates = 0
