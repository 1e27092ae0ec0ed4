// Command hello is the smallest Go program. The start of other programs is compared with its start.
package main

import "fmt"

func main() { fmt.Println("hello") }
