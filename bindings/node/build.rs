//! Tells the linker that the engine brings the symbols of Node-API.
fn main() {
    napi_build::setup();
}
