// How the TypeScript test servers are started: one command line, one HTTP listener.

import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { parseArgs } from 'node:util';

// The command line that all test servers share.
export function readArguments() {
    const { values } = parseArgs({
        options: {
            stdio: { type: 'boolean' },
            http: { type: 'string' }, // a port; 0 picks a free one; the URL is printed
            record: { type: 'string' }, // append each executed call to this file, one JSON a line
            json: { type: 'boolean' }, // answer with JSON instead of an event stream
            cert: { type: 'string' },
            key: { type: 'string' }
        }
    });
    if (Boolean(values.stdio) === (values.http !== undefined)) throw new Error('give either --stdio or --http PORT');
    return values;
}

// Serves on the loopback until told to stop, and prints the endpoint's URL on a line of its own.
export function serveHttp(listener, { http, cert, key }) {
    const answer = (request, response) =>
        listener(request, response).catch(error => {
            console.error(error);
            response.headersSent ? response.destroy() : response.writeHead(500).end();
        });
    const server = cert
        ? createHttpsServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer)
        : createHttpServer(answer);
    const origin = cert ? 'https://localhost' : 'http://127.0.0.1';
    server.listen(Number(http), '127.0.0.1', () => console.log(`${origin}:${server.address().port}/mcp`));
}

// What a request gets whose session is gone: the client shall begin a new one.
export const SESSION_NOT_FOUND = { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } };
