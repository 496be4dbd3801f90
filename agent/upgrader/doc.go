// Package upgrader carries out the upgrades that the hub commands for one member: it reads the member's
// upgrade command, checks the member, lets a driver act, checks again, and reports. It also tells the
// hub what upgrades depend on: versions, node pools, images, windows.
//
// Package agentd runs it. An operation id is acted upon at most once, whatever crashes: `started` is on
// the disk before the driver is called, and the result before it is told. After a restart an operation
// that was started is followed where the driver still knows it, and otherwise judged honestly by what
// the member now is. One operation runs at a time; what runs is never aborted for a newer one. The
// inventory is told before the final result, so that who hears of a success finds the new versions.
package upgrader
