// Package plan answers what applying documents would change: which members every placement would
// gain, keep and lose, with the verdict on each member and what the rollout would do with it next, whose
// content would change, and how update runs would go, member by member and in time.
//
// The door calls it over the records it holds, the command line over files alone; both through
// Build, which calls the same schedule.Schedule as the scheduler, the same rollout.Next as the roller and
// the same steps of core/upgrade as the runner, so what a plan says is what an apply at the same moment does.
// Collect reads files into the Input of Build, exports of a KubeFleet hub among them. Nothing here has effects; equal inputs give equal bytes.
package plan
