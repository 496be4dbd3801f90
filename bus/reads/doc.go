// Package reads answers what agents read of streams, for hubs.
//
// Servers read a message for each direct get at once, and keep all of them until they are sent: whoever asks without end fills their memory,
// and what the stream answers others waits behind it. So servers pass the direct gets of agents on to hubs (subjects.Fleet.Exports), of which
// any answers: of one member one after the other, so many bytes in a time, and refuses what is asked for meanwhile beyond some. Agents notice
// nothing of it but the refusals, after which they ask again. A hub that stands still takes its part of the reads and answers none, until servers
// notice that it is gone: agents ask again after bus.AskTimeout.
package reads
