// Package gauger is the room that knows how full each stream of the fleet is: it asks the servers once in a while,
// asks core/fullness of which streams people are to be told, and tells of them in events, to the door, which shows
// them as problems, and in metrics.
//
// hub/hubd runs it while the hub leads. It writes no record: the next leader asks the servers anew.
package gauger
