// Package plan holds the command plan: what applying files would change, live or from files alone.
package plan
