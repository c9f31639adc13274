//! The program as others see it: real processes on the loopback, that are killed and interrupted.

mod fetching;
mod files;
mod keys;
mod lab;
mod program;
mod resuming;
mod sending;
mod stopping;
mod switch;
mod tutorial;
