//! The program as others see it: real processes on the loopback, that are killed and interrupted.

mod fetching;
mod files;
mod ipv6;
mod keys;
mod lab;
mod modes;
mod names;
mod namespace;
mod path_size;
mod program;
mod resuming;
mod sending;
mod signing;
mod stopping;
mod switch;
mod tutorial;
