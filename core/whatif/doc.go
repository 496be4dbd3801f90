// Package whatif answers what would become of a fleet if members were not there, or others were: which members every
// placement would gain and lose, what would not fit, which spread breaks, and what runs under way would do.
//
// The door asks it over the records it holds, the command line over files alone, both through Build. Build decides with the
// same schedule.Schedule as the scheduler, over subjects that core/plan gathers, and follows each placement until another
// decision changes nothing: first as the fleet is, then with members that are added, then while members leave, then with
// them gone, and at last with placements that are added or changed. What it compares is the first and the last. It has no
// effects; equal inputs give equal bytes.
package whatif
