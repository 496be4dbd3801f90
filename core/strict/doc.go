// Package strict reads documents and says everything that is wrong with them at once, each fault with its field path, what was
// found and what was expected, and where the meaning is obvious the corrected form. It knows types by their json tags
// and no kind.
//
// Amounts that come as text are read within bounds here, whoever wrote them.
package strict
