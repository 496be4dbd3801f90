// Package window decides when a member may be touched: maintenance schedules in AKS's shape, with
// fixed offsets or IANA zones, blackouts, and the four classes by which update runs order members.
//
// The core parses a schedule once with Parse and asks it often; core/upgrade calls it at every free
// slot, the command line for its calendar. A Schedule is a value that never changes and may be
// shared. Zones come in as a function, so that this package reads no files: programs pass
// time.LoadLocation and embed time/tzdata in their main package.
//
// Windows are half-open: at the instant of closing a window is closed.
package window
