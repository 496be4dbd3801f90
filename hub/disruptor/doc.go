// Package disruptor is the room that decides which nodes of members to remove or replace: it folds the
// events that agents tell of their nodes into one view per member, asks core/disruption, and writes
// disruption.<member>, pool.<name> and, with the first disruption of a member, lock.<member>.
//
// hub/hubd runs one per term of leadership and hands its Verbs to the door's service. A pass over a
// member folds what came, gathers the records and the results of the agent, and makes one conditional
// write of what disruption.Step answers: the record together with the lock. The dispatcher derives
// commands from what was written. Commands that wait for their validation live in memory alone: a hub
// that takes over chooses anew. A pass whose last one found nothing is skipped until something changes,
// or a time comes that the decision named, or five minutes are over.
//
// While there are no NodePools nothing can be decided about members but what persons ask for: what agents
// tell is held as it is stored. A member is decoded and decided about when somebody asks for it, for as
// long as somebody goes on asking and two minutes more, and while a disruption of it has not ended. An
// inventory that no longer names a node has that node alone read, and purged.
//
// Passes of several members run side by side. Those whose pools share a fleet-wide budget store what they
// decided one after another, and decide again when others have spent meanwhile what they would take. A member
// rests for longer than it took. Whoever asks about one that is being decided about waits for so long and no
// more. Nothing is decided on a view that is too old; the record says so.
package disruptor
