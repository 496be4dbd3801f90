// Package dispatcher turns releases, update runs and node disruptions into commands on the stream
// COMMANDS: for each member the index of its placements, the one upgrade it is to perform, and the
// disruptions of its nodes that have not ended. It is the only publisher of commands. Package hubd runs it
// on the leader.
//
// An index is stored whole, and then what changes of it in slots beside it, each change counting on all before it;
// when no slot is left, or it is not certain what is stored, it is stored whole again, and only then slots are used anew.
//
// A command derives from committed records alone. Each subject gets the first one at once and then at
// most one every 200 ms; what equals the stored command is not sent again. Commands of one subject are
// numbered in api.Order, past any number its agent says it holds. An upgrade that ended, or was given
// up, is replaced by a command without operation. The commands of a member that left are removed, but for
// the one about its nodes: that says that it left, so that an agent which was away lets go of them.
package dispatcher
