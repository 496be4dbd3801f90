// Package dispatcher turns releases into commands: for each member the whole index of its placements,
// on the stream COMMANDS. It is the only publisher of commands. Package hubd runs it on the leader.
//
// A command derives from committed records alone. Each member gets the first one at once and then at
// most one every 200 ms; what equals the stored command is not sent again. Commands of one member are
// numbered in api.Order, past any number its agent says it holds.
package dispatcher
