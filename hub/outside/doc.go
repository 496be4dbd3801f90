// Package outside is how the hub speaks with what lies outside of the fleet: addresses that its configuration has, over
// HTTP, and programs beside it. Rooms that do so, hub/notifier and hub/checker, use it.
//
// What is in a URL and in headers is for the host of that URL alone: redirections are not followed, and errors name the host
// and nothing else. Answers and output are read up to a bound. Nothing is read by a shell. Each call ends with its context.
package outside
