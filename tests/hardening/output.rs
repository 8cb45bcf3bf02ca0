//! What reaches a terminal or a picture is escaped, and a closed pipe is no error.
