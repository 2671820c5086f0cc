module prices

go 1.19
