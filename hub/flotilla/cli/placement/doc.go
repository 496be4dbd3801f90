// Package placement holds the commands about placements: why, rollout, scale, and the list of a placement's members.
package placement
