// Package deed is what people may have done from a page: which actions there are, what comes of one as far as can be told before
// it is done, whether what somebody agreed to is what would be done now, and the command line that does the same. It asks
// nobody: whoever looks asks, and hands in the answers.
package deed
