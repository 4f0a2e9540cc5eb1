// A test client on the MCP TypeScript SDK 1.x; see stepping.py for how it is used.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { followSteps, MODEL_SAYS, readArguments, USER_SAYS } from './stepping.mjs';

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
        { name: 'agentfence-test-ts1', version: '1.0.0' },
        { capabilities: { sampling: {}, elicitation: {} } }
    );
    client.setRequestHandler(ElicitRequestSchema, () => USER_SAYS);
    client.setRequestHandler(CreateMessageRequestSchema, () => MODEL_SAYS);
    const transport = makeTransport(args);
    await client.connect(transport, options);
    return {
        greeting: { protocolVersion: transport.protocolVersion, server: client.getServerVersion().name },
        list: () => client.listTools(undefined, options),
        call: (step, onprogress) =>
            client.callTool({ name: step.name, arguments: step.arguments }, undefined, { ...options, onprogress }),
        ping: () => client.ping(options),
        read: step => client.readResource({ uri: step.uri }, options),
        prompt: step => client.getPrompt({ name: step.name, arguments: step.arguments }, options),
        async close() {
            await transport.terminateSession?.();
            await client.close();
        }
    };
}

await followSteps(connect);
