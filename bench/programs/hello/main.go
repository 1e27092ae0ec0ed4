// Command hello is the least that a Go program can be: what the start of others is measured by.
package main

import "fmt"

func main() { fmt.Println("hello") }
