// Package overview makes what is shown of a fleet out of rows: members that match a query, counts, groups, placements against
// groups, runs, node pools, and the tables that are exported of them. Package hub/door/show gathers the rows of a Fleet.
package overview
