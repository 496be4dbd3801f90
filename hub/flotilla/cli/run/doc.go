// Package run holds the commands that make, start, follow and steer update runs, and the calendar of maintenance windows.
package run
