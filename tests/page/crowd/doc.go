// Package crowd is a fleet of 10 or of 10,000 members, for tests of what looks at fleets: a real hub with its server in the
// process of the test, a real agent beside one member in memory, and agents of all other members that are played over a few
// connections, because as many real ones would take 40 GB. What people do goes through the door, what agents do is what
// agents publish.
//
// A player has keys of its own, beats, opens the commands that the hub sealed to it, and reports what came of them as its part
// says: most do well, some refuse, drift or crash, some upgrades go on for ever. Whatever people, agents and API servers may
// say freely has markup in it somewhere: messages, reasons, annotations, properties, versions and a region.
package crowd
