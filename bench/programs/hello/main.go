// Command hello is the smallest Go program, with whose start the start of others is compared.
package main

import "fmt"

func main() { fmt.Println("hello") }
