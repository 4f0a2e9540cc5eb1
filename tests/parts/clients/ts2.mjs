// A test client on the MCP TypeScript SDK 2.x; see stepping.py for how it is used.

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { followSteps, MODEL_SAYS, readArguments, USER_SAYS } from './stepping.mjs';

const MODES = { auto: 'auto', legacy: 'legacy', modern: { pin: '2026-07-28' } };

function makeTransport({ http, sse, stdio }) {
    if (http) return new StreamableHTTPClientTransport(new URL(http));
    if (sse) return new SSEClientTransport(new URL(sse));
    const [command, ...args] = stdio;
    return new StdioClientTransport({ command, args, env: process.env });
}

async function connect() {
    const args = readArguments();
    const options = { timeout: args.timeout };
    const client = new Client(
        { name: 'agentfence-test-ts2', version: '1.0.0' },
        {
            capabilities: { sampling: {}, elicitation: {} },
            ...(args.era && { versionNegotiation: { mode: MODES[args.era] } })
        }
    );
    client.setRequestHandler('elicitation/create', () => USER_SAYS);
    client.setRequestHandler('sampling/createMessage', () => MODEL_SAYS);
    const transport = makeTransport(args);
    await client.connect(transport, options);
    return {
        greeting: {
            protocolVersion: client.getNegotiatedProtocolVersion(),
            server: client.getServerVersion()?.name
        },
        list: () => client.listTools(undefined, { ...options, cacheMode: 'bypass' }),
        call: (step, onprogress) =>
            client.callTool({ name: step.name, arguments: step.arguments }, { ...options, onprogress }),
        ping: () => client.ping(options),
        read: step => client.readResource({ uri: step.uri }, { ...options, cacheMode: 'bypass' }),
        prompt: step => client.getPrompt({ name: step.name, arguments: step.arguments }, options),
        async close() {
            await transport.terminateSession?.();
            await client.close();
        }
    };
}

await followSteps(connect);
