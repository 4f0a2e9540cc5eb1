// The demo's HTTP server listens on all interfaces, and one of its tools shows its environment.
// Preloaded into it, this keeps the demo on this machine.

import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...others) {
    return listen.call(this, port, '127.0.0.1', ...others);
};
